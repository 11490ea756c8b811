import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { detailViews } from "./call/detail-view.js";
import type { DetailView } from "./call/detail-view.js";
import { readCallsSearch } from "./calls/calls-search.js";
import type { CallsSearch } from "./calls/calls-search.js";
import { readCallsView } from "./calls/calls-view.js";
import type { CallsView } from "./calls/calls-view.js";
import { readComparisonSearch } from "./comparison/comparison-search.js";
import { readEvaluationsSearch } from "./evaluations/evaluations-search.js";
import { readHomeSearch } from "./home/home-search.js";
import { HomeScreen } from "./home/home-screen.js";
import { readLibrarySearch } from "./library/library-search.js";
import { fromSegment, toSegment } from "./project/path-segment.js";
import { readPlaySearch } from "./playground/play-search.js";
import { readQueuesSearch, readWorkSearch } from "./queue/queues-search.js";
import { readSearch, writeSearch } from "./search-params.js";
import { consoleUrl } from "./session/service-url.js";
import { readUsageSearch } from "./settings/usage-search.js";
import { NoPage } from "./shell/no-page.js";
import { Shell } from "./shell/shell.js";
import { readThreadsSearch } from "./threads/threads-search.js";
import { readModelSearch } from "./training/model-search.js";
import { readTrainingSearch } from "./training/training-search.js";

const root = createRootRoute({ component: Shell, notFoundComponent: NoPage });
const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: readHomeSearch,
  component: HomeScreen,
});
const logIn = createRoute({
  getParentRoute: () => root,
  path: "/login",
  beforeLoad: () => {
    // Where somebody is logged in, it is the first page.
    // oxlint-disable-next-line typescript/only-throw-error -- what the router takes
    throw redirect({ to: "/", replace: true });
  },
});
const project = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project",
  beforeLoad: ({ params }) => {
    // oxlint-disable-next-line typescript/only-throw-error -- what the router takes
    throw redirect({ to: "/$entity/$project/calls", params, replace: true });
  },
});
const calls = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/calls",
  validateSearch: (given: Record<string, unknown>): CallsSearch & CallsView => ({
    ...readCallsSearch(given),
    ...readCallsView(given),
  }),
  component: lazyRouteComponent(() => import("./calls/calls-screen.js"), "CallsScreen"),
});

function showOf(given: unknown): { show?: DetailView; find?: string } {
  const show = detailViews.find((known) => known === given);
  return show === undefined ? {} : { show };
}
const call = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/calls/$callId",
  validateSearch: (
    given: Record<string, unknown>,
  ): CallsSearch & { span?: string; show?: DetailView; find?: string } & Pick<CallsView, "act"> => ({
    ...readCallsSearch(given),
    ...(typeof given["span"] === "string" && { span: given["span"] }),
    ...showOf(given["show"]),
    ...(typeof given["find"] === "string" && given["find"] !== "" && { find: given["find"].slice(0, 1000) }),
    ...readCallsView({ act: given["act"] }),
  }),
  component: lazyRouteComponent(() => import("./call/call-screen.js"), "CallScreen"),
});

const comparison = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/compare",
  validateSearch: readComparisonSearch,
  component: lazyRouteComponent(() => import("./comparison/comparison-screen.js"), "ComparisonScreen"),
});

const library = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/library/{-$kind}/{-$name}/{-$version}",
  params: {
    parse: ({ name, ...params }) => ({ ...params, ...(name !== undefined && { name: fromSegment(name) }) }),
    stringify: ({ name, ...params }) => ({ ...params, ...(name !== undefined && { name: toSegment(name) }) }),
  },
  validateSearch: readLibrarySearch,
  component: lazyRouteComponent(() => import("./library/library-screen.js"), "LibraryScreen"),
});

const threads = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/threads",
  validateSearch: readThreadsSearch,
  component: lazyRouteComponent(() => import("./threads/threads-screen.js"), "ThreadsScreen"),
});
const thread = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/threads/$threadId",
  params: {
    parse: ({ threadId, ...params }) => ({ ...params, threadId: fromSegment(threadId) }),
    stringify: ({ threadId, ...params }) => ({ ...params, threadId: toSegment(threadId) }),
  },
  validateSearch: ({ turn }: Record<string, unknown>): { turn?: string } => (typeof turn === "string" ? { turn } : {}),
  component: lazyRouteComponent(() => import("./threads/thread-screen.js"), "ThreadScreen"),
});

const training = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/training",
  validateSearch: readTrainingSearch,
  component: lazyRouteComponent(() => import("./training/training-screen.js"), "TrainingScreen"),
});
const trainedModel = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/training/$modelId",
  validateSearch: readModelSearch,
  component: lazyRouteComponent(() => import("./training/model-screen.js"), "ModelScreen"),
});
const queues = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/queues",
  validateSearch: readQueuesSearch,
  component: lazyRouteComponent(() => import("./queue/queues-screen.js"), "QueuesScreen"),
});
const queue = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/queues/$queueId",
  validateSearch: readWorkSearch,
  component: lazyRouteComponent(() => import("./queue/queue-screen.js"), "QueueScreen"),
});

const play = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/play",
  validateSearch: readPlaySearch,
  component: lazyRouteComponent(() => import("./playground/play-screen.js"), "PlayScreen"),
});

const evaluations = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/evaluations",
  validateSearch: readEvaluationsSearch,
  component: lazyRouteComponent(() => import("./evaluations/evaluations-screen.js"), "EvaluationsScreen"),
});

const projectSettings = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/settings/{-$part}",
  validateSearch: readUsageSearch,
  component: lazyRouteComponent(() => import("./settings/project-settings-screen.js"), "ProjectSettingsScreen"),
});
const serviceSettings = createRoute({
  getParentRoute: () => root,
  path: "/settings/{-$part}",
  component: lazyRouteComponent(() => import("./settings/service-settings-screen.js"), "ServiceSettingsScreen"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    logIn,
    project,
    calls,
    call,
    comparison,
    library,
    threads,
    thread,
    evaluations,
    training,
    trainedModel,
    queues,
    queue,
    play,
    projectSettings,
    serviceSettings,
  ]),
  basepath: consoleUrl().pathname,
  defaultPreload: "intent",
  parseSearch: readSearch,
  stringifySearch: writeSearch,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
