import { RunRecorder } from "../evaluation-runs/run-recorder.js";
import type { Services } from "../services.js";
import { evaluateJobs } from "./evaluate.js";
import type { JobKind } from "./job-kind.js";
import { rescoreJobs } from "./rescore.js";
import { scoreCallsJobs } from "./score-calls.js";
import { trainingJobKinds } from "./train.js";

/** Every kind of job that the service runs. */
export function jobKinds(services: Services, onDefect: (error: unknown) => void): JobKind[] {
  const recorder = new RunRecorder(services, onDefect);
  return [
    evaluateJobs(services, recorder),
    rescoreJobs(services, recorder),
    scoreCallsJobs(services, recorder),
    ...trainingJobKinds(services),
  ];
}
