import { run } from './run.js';

process.exitCode = await run(process.env, { print: (line) => console.log(line), secondMs: 1_000 });
