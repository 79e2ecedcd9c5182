import { jira, pipeline } from 'tidemark';

// Every setting comes from a variable that begins with TRACKER_; without any this pipeline is not configured.
export default pipeline({ name: 'tracker', source: jira.fromEnv('TRACKER') });
