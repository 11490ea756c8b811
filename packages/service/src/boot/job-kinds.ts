import { RunRecorder } from "../evaluation-service/run-recorder.js";
import type { Services } from "../services.js";
import { evaluateJobs } from "../evaluation-service/evaluate.js";
import type { JobKind } from "../jobs/job-kind.js";
import { rankCallsJobs } from "../evaluation-service/rank-calls.js";
import { rescoreJobs } from "../evaluation-service/rescore.js";
import { scoreCallsJobs } from "../evaluation-service/score-calls.js";
import { trainingJobKinds } from "../training-jobs/train.js";

/** Every kind of job that the service runs. */
export function jobKinds(services: Services, onDefect: (error: unknown) => void): JobKind[] {
  const recorder = new RunRecorder(services, onDefect);
  return [
    evaluateJobs(services, recorder),
    rescoreJobs(services, recorder),
    scoreCallsJobs(services, recorder),
    rankCallsJobs(services, recorder),
    ...trainingJobKinds(services),
  ];
}
