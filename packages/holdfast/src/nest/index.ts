/**
 * What the bindings for NestJS share. Internal, and not for the engine itself: it may change with any release, so a
 * binding depends on exactly one version.
 */

// What Nest knows of an application
export { classesIn, handlerKindsIn, handlersOf, type FoundClass, type Module, type Wrapper } from './entry-classes.js';
export {
  describeHandler,
  hasScheduledTimeout,
  isEntryClass,
  isHandler,
  methodNameOf,
  methodsOf,
  signalParameters,
  takesAcknowledgement,
  writesResponse,
  type GraphqlPart,
  type Handler,
  type HandlerKinds,
} from './handler.js';
export { readSignal } from './signal-parameter.js';
export {
  ConnectedMicroservices,
  INHERIT_REMEDY,
  type ConnectedMicroservicesParts,
  type MessageHandlers,
} from './connected-microservices.js';
export { GraphqlServers } from './graphql-servers.js';

// Calls and answers
export { messageHeader, messageHeaderValues } from './message-headers.js';
export {
  emptyMetadata,
  grpcCallOf,
  passedThroughCallOf,
  payloadMetadata,
  type GrpcCall,
  type GrpcMetadata,
} from './grpc-call.js';
export { RpcExceptions } from './rpc-exceptions.js';
export { fieldErrors, withoutStack, type FieldErrorClass } from './field-error.js';
export { AskedFields, fieldsOf, selectionsOf, type Fragments } from './graphql-selection.js';
export { beforeHead, type ResponseHead } from './response-head.js';
export { degradedMarksOf, keepDegradedMarks, markDegraded, type DegradedMarks } from './degraded-marks.js';
export { isEnvelope, isPartial, partialIn, type AnyPartialResponse } from './partial-answer.js';
export {
  infoOf,
  isRequest,
  isSubscribing,
  markOperation,
  operationOf,
  rawRequestsIn,
  rawResponseIn,
  pathOf,
  type Directive,
  type GraphqlInfo,
  type Selection,
} from './graphql-call.js';

// Modules and other packages
export { requireAsyncOptions } from './async-options.js';
export { PeerPackage, type Binding, type PeerPackageOptions } from './peer-package.js';
export { isolating } from './isolating.js';
