import readline from 'node:readline';
import { startNights } from '../simulators/demo/nights.ts';

/** The company of the bench, in a process of its own: prints its environment; at each line a day passes. */
const company = await startNights();
console.log(JSON.stringify(company.environment));
for await (const _ of readline.createInterface({ input: process.stdin })) {
  company.day();
  console.log('{}');
}
