import { aliveBytes } from './alive-bytes.js';

/** Loaded into the server before anything else: says how much is alive when its parent asks. Ends with the parent. */

process.on('message', () => void aliveBytes().then((bytes) => process.send?.(bytes)));
process.on('disconnect', () => process.exit());
