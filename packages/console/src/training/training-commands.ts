/** On the training of a project. */
export const trainingCommands = {
  next: { title: "Next job", keys: ["j", "ArrowDown"] },
  previous: { title: "Previous job", keys: ["k", "ArrowUp"] },
  first: { title: "First job", keys: ["g g", "Home"] },
  last: { title: "Last job", keys: ["G", "End"] },
  open: { title: "Open the model of the job", keys: ["Enter"] },
  cancel: { title: "Cancel the job, once confirmed", keys: ["Delete"] },
  curl: { title: "Copy the request for the jobs as curl", keys: ["Y"] },
};

/** On the training of one model. */
export const modelCommands = {
  cancel: { title: "Cancel the job, once confirmed", keys: ["Delete"] },
  back: { title: "Back to the training of the project", keys: ["Escape"] },
};

/** On the curves of a model. */
export const curvesCommands = {
  next: { title: "The cursor a point on", keys: ["ArrowRight"] },
  previous: { title: "The cursor a point back", keys: ["ArrowLeft"] },
  pick: { title: "Show the job of the step under the cursor", keys: ["Enter"] },
  axis: { title: "Next axis: checkpoint step, gradient step, time, tokens, logged step", keys: ["X"] },
  smooth: { title: "Smooth the curves, or not; the raw ones stay", keys: ["m"] },
  table: { title: "The curves as a table, or as curves", keys: ["T"] },
};

/** On the rollouts of a job. */
export const rolloutsCommands = {
  next: { title: "Next rollout", keys: ["j", "ArrowDown"] },
  previous: { title: "Previous rollout", keys: ["k", "ArrowUp"] },
  order: { title: "Next order: by group, by reward, by advantage", keys: ["o"] },
  side: { title: "The group side by side, or one rollout", keys: ["b"] },
  colour: { title: "Colour tokens by log-probability, advantage or mask", keys: ["v"] },
};
