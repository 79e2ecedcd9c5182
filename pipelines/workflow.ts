import { dagu, pipeline } from 'tidemark';

export default pipeline({ name: 'workflow', source: dagu.fromEnv('WORKFLOW') });
