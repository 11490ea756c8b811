/** On the call under the cursor of the trace. */
export const spanCommands = {
  show: { title: "Messages or JSON", keys: ["m"] },
  replay: { title: "Copy the call as curl, to send it again", keys: ["R"] },
};

/** On a call of a chat model. */
export const replayCommands = { play: { title: "Try the call again, on other models", keys: ["r"] } };
