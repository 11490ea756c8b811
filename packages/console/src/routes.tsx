import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { HomeScreen } from "./home/home-screen.js";
import { consoleUrl } from "./session/service-url.js";
import { NoPage } from "./shell/no-page.js";
import { Shell } from "./shell/shell.js";

const root = createRootRoute({ component: Shell, notFoundComponent: NoPage });
const home = createRoute({ getParentRoute: () => root, path: "/", component: HomeScreen });
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
  component: lazyRouteComponent(() => import("./project/project-screen.js"), "ProjectScreen"),
});

/** What else is asked for of a project. */
const ofProject = createRoute({
  getParentRoute: () => root,
  path: "/$entity/$project/$",
  component: lazyRouteComponent(() => import("./project/project-screen.js"), "ProjectScreen"),
});

export const router = createRouter({
  routeTree: root.addChildren([home, logIn, project, ofProject]),
  basepath: consoleUrl().pathname,
  defaultPreload: "intent",
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
