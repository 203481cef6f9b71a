import type { AddressInfo } from 'node:net';
import { reportListening } from '../launch/parent.js';
import { portFrom, refusePort } from '../launch/port.js';
import { createCarrierStub } from './carrier-stub.js';

const port = portFrom('CARRIER_PORT', 0);
const server = createCarrierStub();

server.once('error', (error) => refusePort(error, { variable: 'CARRIER_PORT', port }));
server.listen(port, '127.0.0.1', () => reportListening({ port: (server.address() as AddressInfo).port }));
