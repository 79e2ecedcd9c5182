import { nightly } from 'tidemark';

// At 02:00 UTC, or by TIDEMARK_SCHEDULE and TIDEMARK_TIME_ZONE.
export default nightly({ pipelines: ['tracker', 'ads', 'workflow'] });
