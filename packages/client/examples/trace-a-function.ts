// Records every run of two functions, one of which calls the other, as one trace.
// Start the service, then: npx tsx trace-a-function.ts
import { init, trace } from "@heddle/client/trace";

init({ project: "local/examples" });

const lookUp = trace("look-up", async (word: string) => ({ word, length: word.length }));
const answer = trace("answer", async (question: string) => {
  const facts = await Promise.all(question.split(" ").map((word) => lookUp(word)));
  return `The longest of ${facts.length} words has ${Math.max(...facts.map(({ length }) => length))} letters.`;
});

console.log(await answer("What holds the warp threads apart"));
