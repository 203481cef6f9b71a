export { ScriptedDownstream, DownstreamError, type Step, type CallRecord } from './scripted-downstream.js';
export { EventRecorder } from './event-recorder.js';
