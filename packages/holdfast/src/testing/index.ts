export {
  ScriptedDownstream,
  DownstreamError,
  type Step,
  type CallRecord,
  type DownstreamOptions,
} from './scripted-downstream.js';
export { EventRecorder } from './event-recorder.js';
