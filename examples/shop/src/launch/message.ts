import { sendMessage } from './send-message.js';

const [port, pattern, data] = process.argv.slice(2);
if (port === undefined || pattern === undefined || data === undefined) {
  console.error(`Usage: npm run message -w examples/shop -- 3001 shipping.quotes '{"orderId":"1001"}'`);
  process.exit(2);
}

try {
  console.log(JSON.stringify(await sendMessage(Number(port), pattern, JSON.parse(data))));
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
