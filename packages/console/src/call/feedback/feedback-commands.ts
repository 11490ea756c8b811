/** On a call, for what somebody thinks of it. */
export const feedbackCommands = {
  reaction1: { title: "React with 👍", keys: ["1"] },
  reaction2: { title: "React with 👎", keys: ["2"] },
  reaction3: { title: "React with 🎉", keys: ["3"] },
  reaction4: { title: "React with ❤️", keys: ["4"] },
  reaction5: { title: "React with ❓", keys: ["5"] },
  note: { title: "Write a note", keys: ["f"] },
};
