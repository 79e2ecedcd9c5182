// What an image is given, as JSON: `node settings.mjs WAREHOUSE TRACKER`, the output of `tidemark warehouse` and `tidemark simulate`.
import fs from 'node:fs';
import net from 'node:net';
import { parseEnv } from 'node:util';

const [warehouse, tracker] = process.argv.slice(2).map((file) => fs.readFileSync(file, 'utf8'));
const { TRACKER_BASE_URL, TRACKER_EMAIL, TRACKER_API_TOKEN, TIDEMARK_TIME_ZONE = 'UTC' } = parseEnv(tracker);
const secret = (value) => ({ value, isSecret: true });
const plain = (value) => ({ value, isSecret: false });
const server = net.createServer().listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  server.close();
  const settings = {
    DATABASE_URL: secret(/^connection +(\S+)/m.exec(warehouse)[1]),
    TIDEMARK_SECRET_KEY: secret('a key of more than 32 characters, for this test'),
    TIDEMARK_API_TOKEN: secret('operate-for-this-test'),
    TIDEMARK_READ_TOKEN: secret('read-for-this-test'),
    TIDEMARK_PORT: plain(String(port)),
    TIDEMARK_TIME_ZONE: plain(TIDEMARK_TIME_ZONE),
    TRACKER_BASE_URL: plain(TRACKER_BASE_URL),
    TRACKER_EMAIL: plain(TRACKER_EMAIL),
    TRACKER_API_TOKEN: secret(TRACKER_API_TOKEN),
  };
  console.log(JSON.stringify(settings));
});
