import { jira, pipeline } from 'tidemark';

export default pipeline({ name: 'north', source: jira.fromEnv('NORTH'), exclude: ['sprint_issues'] });
