/** Names of a project, as the address of its pages has them. */
interface ProjectParams {
  entity: string;
  project: string;
}

function paramsOf(projectId: string): ProjectParams {
  const slash = projectId.indexOf("/");
  return { entity: projectId.slice(0, slash), project: projectId.slice(slash + 1) };
}

/** `acme/demo` → where its page is. */
export const linkToProject = (projectId: string) =>
  ({ to: "/$entity/$project/calls", params: paramsOf(projectId) }) as const;

const paths = {
  calls: "/$entity/$project/calls",
  threads: "/$entity/$project/threads",
  queues: "/$entity/$project/queues",
  play: "/$entity/$project/play",
  evaluations: "/$entity/$project/evaluations",
  library: "/$entity/$project/library/{-$kind}/{-$name}/{-$version}",
  training: "/$entity/$project/training",
  settings: "/$entity/$project/settings/{-$part}",
} as const;

type Screen = keyof typeof paths;

/** The screens that each project has. */
export const screens: readonly { id: Screen; title: string }[] = [
  { id: "calls", title: "Calls" },
  { id: "threads", title: "Threads" },
  { id: "queues", title: "Queues" },
  { id: "play", title: "Playground" },
  { id: "evaluations", title: "Evaluations" },
  { id: "library", title: "Library" },
  { id: "training", title: "Training" },
  { id: "settings", title: "Settings" },
];

export const linkToScreen = (projectId: string, screen: Screen) =>
  ({ to: paths[screen], params: paramsOf(projectId) }) as const;
