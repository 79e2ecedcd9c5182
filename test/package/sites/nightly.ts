import { nightly } from 'tidemark';

export default nightly({ pipelines: ['plant', 'north', 'web'] });
