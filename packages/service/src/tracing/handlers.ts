import type { TracingHandlers } from "@heddle/server-stub/tracing";
import type { Caller, Services } from "../services.js";
import { annotationQueueHandlers } from "./annotation-queues.js";
import { callHandlers } from "./calls.js";
import { completeCallHandlers } from "./complete-calls.js";
import { costHandlers } from "./costs.js";
import { evalResultHandlers } from "./eval-results.js";
import { evaluationRunHandlers } from "./evaluation-runs.js";
import { feedbackHandlers } from "./feedback.js";
import { fileHandlers } from "./files.js";
import { imageHandlers } from "./images.js";
import { inferenceHandlers } from "./inference.js";
import { objectHandlers } from "./objects.js";
import { openTelemetryHandlers } from "./open-telemetry.js";
import { predictionHandlers } from "./predictions.js";
import { projectHandlers } from "./projects.js";
import { refHandlers } from "./refs.js";
import { scoreHandlers } from "./scores.js";
import { serviceHandlers } from "./service.js";
import { tableHandlers } from "./tables.js";
import { threadHandlers } from "./threads.js";

/** Every operation of the tracing interface, by group: a group of the spec without handlers does not compile. */
export function tracingHandlers(services: Services): TracingHandlers<Caller> {
  return {
    annotationQueues: annotationQueueHandlers(services),
    calls: callHandlers(services),
    completeCalls: completeCallHandlers(services),
    costs: costHandlers(services),
    evalResults: evalResultHandlers(services),
    evaluationRuns: evaluationRunHandlers(services),
    feedback: feedbackHandlers(services),
    files: fileHandlers(services),
    images: imageHandlers(services),
    inference: inferenceHandlers(services),
    objects: objectHandlers(services),
    openTelemetry: openTelemetryHandlers(services),
    predictions: predictionHandlers(services),
    projects: projectHandlers(services),
    refs: refHandlers(services),
    scores: scoreHandlers(services),
    service: serviceHandlers(services),
    tables: tableHandlers(services),
    threads: threadHandlers(services),
  };
}
