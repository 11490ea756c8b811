import { readCallSearch } from "./call/call-search.js";
import { readCallsSearch } from "./calls/calls-search.js";
import type { CallsSearch } from "./calls/calls-search.js";
import { readCallsView } from "./calls/calls-view.js";
import type { CallsView } from "./calls/calls-view.js";
import { readComparisonSearch } from "./comparison/comparison-search.js";
import { readEvaluationsSearch } from "./evaluations/evaluations-search.js";
import { readHomeSearch } from "./home/home-search.js";
import { readLibrarySearch } from "./library/library-search.js";
import { readPlaySearch } from "./playground/play-search.js";
import { readQueuesSearch, readWorkSearch } from "./queue/queues-search.js";
import { readUsageSearch } from "./settings/usage-search.js";
import { readThreadSearch, readThreadsSearch } from "./threads/threads-search.js";
import { readModelSearch } from "./training/model-search.js";
import { readTrainingSearch } from "./training/training-search.js";

type Given = Record<string, unknown>;

/** The paths of all pages, and how their parameters are read. `/settings` comes before what takes any first name. */
export const addresses = {
  "/": { search: readHomeSearch },
  "/settings/{-$part}": { search: (): object => ({}) },
  "/$entity/$project/calls": {
    search: (given: Given): CallsSearch & CallsView => ({ ...readCallsSearch(given), ...readCallsView(given) }),
  },
  "/$entity/$project/calls/$callId": { search: readCallSearch },
  "/$entity/$project/compare": { search: readComparisonSearch },
  "/$entity/$project/library/{-$kind}/{-$name}/{-$version}": { search: readLibrarySearch, names: ["name"] },
  "/$entity/$project/threads": { search: readThreadsSearch },
  "/$entity/$project/threads/$threadId": { search: readThreadSearch, names: ["threadId"] },
  "/$entity/$project/training": { search: readTrainingSearch },
  "/$entity/$project/training/$modelId": { search: readModelSearch },
  "/$entity/$project/queues": { search: readQueuesSearch },
  "/$entity/$project/queues/$queueId": { search: readWorkSearch },
  "/$entity/$project/play": { search: readPlaySearch },
  "/$entity/$project/evaluations": { search: readEvaluationsSearch },
  "/$entity/$project/settings/{-$part}": { search: readUsageSearch },
};

declare module "./router/address.js" {
  interface Register {
    addresses: typeof addresses;
  }
}
