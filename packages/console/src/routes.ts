import { addresses } from "./addresses.js";
import { HomeScreen } from "./home/home-screen.js";
import { Router } from "./router/router.js";
import { consoleUrl } from "./session/service-url.js";

let router: Router | undefined;

/** Reads the address when somebody is logged in: before, it may be that of the log-in. */
export const pageRouter = (): Router => (router ??= createRouter());

/** The screens are loaded when they are first needed, but for the first. */
const createRouter = () =>
  new Router({
    addresses,
    base: consoleUrl().pathname,
    redirects: {
      // Where somebody is logged in, it is the first page.
      "/login": "/",
      "/$entity/$project": "/$entity/$project/calls",
    },
    screens: {
      "/": { component: HomeScreen },
      "/settings/{-$part}": {
        load: async () => (await import("./settings/service-settings-screen.js")).ServiceSettingsScreen,
      },
      "/$entity/$project/calls": { load: async () => (await import("./calls/calls-screen.js")).CallsScreen },
      "/$entity/$project/calls/$callId": { load: async () => (await import("./call/call-screen.js")).CallScreen },
      "/$entity/$project/compare": {
        load: async () => (await import("./comparison/comparison-screen.js")).ComparisonScreen,
      },
      "/$entity/$project/library/{-$kind}/{-$name}/{-$version}": {
        load: async () => (await import("./library/library-screen.js")).LibraryScreen,
      },
      "/$entity/$project/threads": { load: async () => (await import("./threads/threads-screen.js")).ThreadsScreen },
      "/$entity/$project/threads/$threadId": {
        load: async () => (await import("./threads/thread-screen.js")).ThreadScreen,
      },
      "/$entity/$project/training": {
        load: async () => (await import("./training/training-screen.js")).TrainingScreen,
      },
      "/$entity/$project/training/$modelId": {
        load: async () => (await import("./training/model-screen.js")).ModelScreen,
      },
      "/$entity/$project/queues": { load: async () => (await import("./queue/queues-screen.js")).QueuesScreen },
      "/$entity/$project/queues/$queueId": { load: async () => (await import("./queue/queue-screen.js")).QueueScreen },
      "/$entity/$project/play": { load: async () => (await import("./playground/play-screen.js")).PlayScreen },
      "/$entity/$project/evaluations": {
        load: async () => (await import("./evaluations/evaluations-screen.js")).EvaluationsScreen,
      },
      "/$entity/$project/settings/{-$part}": {
        load: async () => (await import("./settings/project-settings-screen.js")).ProjectSettingsScreen,
      },
    },
  });
