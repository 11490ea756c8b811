import type { TracingHandlers } from "@heddle/server-stub/tracing";
import type { Caller, Services } from "../services.js";
import { aggregateHandlers } from "./aggregates.js";
import { annotationQueueHandlers } from "./annotation-queues.js";
import { callPageHandlers } from "./call-pages.js";
import { callHandlers } from "./calls.js";
import { completeCallHandlers } from "./complete-calls.js";
import { costHandlers } from "./costs.js";
import { evaluationServiceHandlers } from "./evaluation-service.js";
import { datasetHandlers } from "./datasets.js";
import { evalResultHandlers } from "./eval-results.js";
import { evaluationRunHandlers } from "./evaluation-runs.js";
import { evaluationHandlers } from "./evaluations.js";
import { exportHandlers } from "./exports.js";
import { feedbackHandlers } from "./feedback.js";
import { fileHandlers } from "./files.js";
import { identityHandlers } from "./identity.js";
import { imageHandlers } from "./images.js";
import { inferenceHandlers } from "./inference.js";
import { keyHandlers } from "./keys.js";
import { modelHandlers } from "./models.js";
import { objectHandlers } from "./objects.js";
import { openTelemetryHandlers } from "./open-telemetry.js";
import { opHandlers } from "./ops.js";
import { predictionHandlers } from "./predictions.js";
import { projectHandlers } from "./projects.js";
import { refHandlers } from "./refs.js";
import { scorerHandlers } from "./scorers.js";
import { scoreHandlers } from "./scores.js";
import { serviceHandlers } from "./service.js";
import { sessionHandlers } from "./sessions.js";
import { shareHandlers } from "./shares.js";
import { tableHandlers } from "./tables.js";
import { threadHandlers } from "./threads.js";
import { traceHandlers } from "./traces.js";
import { webhookHandlers } from "./webhooks.js";

/** Every operation of the tracing interface, by group: a group of the spec without handlers does not compile. */
export function tracingHandlers(services: Services): TracingHandlers<Caller> {
  return {
    aggregates: aggregateHandlers(services),
    annotationQueues: annotationQueueHandlers(services),
    callPages: callPageHandlers(services),
    calls: callHandlers(services),
    completeCalls: completeCallHandlers(services),
    costs: costHandlers(services),
    evaluationService: evaluationServiceHandlers(services),
    datasets: datasetHandlers(services),
    evalResults: evalResultHandlers(services),
    evaluationRuns: evaluationRunHandlers(services),
    evaluations: evaluationHandlers(services),
    exports: exportHandlers(services),
    feedback: feedbackHandlers(services),
    files: fileHandlers(services),
    identity: identityHandlers(services),
    images: imageHandlers(services),
    inference: inferenceHandlers(services),
    keys: keyHandlers(services),
    models: modelHandlers(services),
    objects: objectHandlers(services),
    openTelemetry: openTelemetryHandlers(services),
    ops: opHandlers(services),
    predictions: predictionHandlers(services),
    projects: projectHandlers(services),
    refs: refHandlers(services),
    scorers: scorerHandlers(services),
    scores: scoreHandlers(services),
    service: serviceHandlers(services),
    sessions: sessionHandlers(services),
    shares: shareHandlers(services),
    tables: tableHandlers(services),
    threads: threadHandlers(services),
    traces: traceHandlers(services),
    webhooks: webhookHandlers(services),
  };
}
