/** On the call under the cursor of the trace. */
export const spanCommands = {
  show: { title: "Messages or JSON", keys: ["m"] },
  find: { title: "Find words in the values of the call", keys: ["F"] },
  replay: { title: "Copy the call as curl, to send it again", keys: ["R"] },
};

/** On a call of a chat model. */
export const replayCommands = { play: { title: "Try the call again, on other models", keys: ["r"] } };
