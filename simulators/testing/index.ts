/** What tests of connectors import from `tidemark/testing`. */
export { type ConnectorCheck, checkConnector } from './check-connector.ts';
export { type Answer, type Asked, forwardTo, type ScriptedServer, scriptedServer } from './server.ts';
export { type TemporaryWarehouse, temporaryWarehouse } from './warehouse.ts';
