import { type Config, readConfig } from '../../src/config/config.ts';
import { shippedPipelines } from '../../src/config/pipeline-files.ts';
import type { Connector } from '../../src/connectors/connector.ts';

/** The pipelines that come with Tidemark. */
export const shipped = await shippedPipelines<Connector>();

/** The configuration with the shipped pipelines; `cwd` may hold an `.env`. */
export const configOf = (env: NodeJS.ProcessEnv, cwd: string): Config<Connector> =>
  readConfig(env, cwd, shipped);

/** Every variable that the program with the shipped pipelines reads. */
export const shippedVariables = configOf({}, import.meta.dirname).shown.map(({ name, isSecret }) => ({
  name,
  isSecret,
}));
