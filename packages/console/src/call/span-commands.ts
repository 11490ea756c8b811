/** On the call under the cursor of the trace. */
export const spanCommands = {
  show: { title: "Messages or JSON", keys: ["m"] },
  replay: { title: "Copy the call as curl, to send it again", keys: ["r"] },
  replayTypeScript: { title: "Copy the call as TypeScript, to send it again", keys: ["R"] },
};
