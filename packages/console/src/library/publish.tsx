import type { ReactNode } from "react";
import type { Kind } from "./kinds.js";

const publish = (what: ReactNode) => (
  <>
    <code>weave.publish</code> {what} publishes one, in Python and TypeScript; each change makes a version.
  </>
);

/** Of a kind that has nothing yet. */
export const howToPublish: Record<Kind, ReactNode> = {
  datasets: publish(
    <>
      of a <code>weave.Dataset</code>
    </>,
  ),
  prompts: publish(
    <>
      of a <code>weave.StringPrompt</code> or <code>weave.MessagesPrompt</code>
    </>,
  ),
  ops: (
    <>
      The first call of a function with <code>weave.op</code> publishes its source; each change of it makes a version.
    </>
  ),
  scorers: publish(
    <>
      of a <code>weave.Scorer</code>
    </>,
  ),
  models: publish(
    <>
      of a <code>weave.Model</code>
    </>,
  ),
  objects: publish(<>of any other object</>),
};
