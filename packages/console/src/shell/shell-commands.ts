/** On every page. */
export const shellCommands = {
  home: { title: "Go to the projects", keys: ["g h"] },
  project: { title: "Go to the calls of the project", keys: ["g c"] },
  threads: { title: "Go to the threads of the project", keys: ["g t"] },
  evaluations: { title: "Go to the evaluations of the project", keys: ["g e"] },
  library: { title: "Go to the library of the project", keys: ["g l"] },
  training: { title: "Go to the training of the project", keys: ["g r"] },
  queues: { title: "Go to the annotation queues of the project", keys: ["g q"] },
  play: { title: "Go to the playground of the project", keys: ["g p"] },
  settings: { title: "Go to the settings of the project, or of the service", keys: ["g s"] },
  link: { title: "Copy the address of the page", keys: ["y"] },
  palette: { title: "Find a command", keys: ["Ctrl+k"] },
  keys: { title: "Show the keys", keys: ["?"] },
  logOut: { title: "Log out", keys: [] },
};
