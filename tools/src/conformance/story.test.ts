import { expect, test } from "vitest";
import { storiesOf } from "./story.js";

const story = (step: string) => `
workflows:
  - workflowId: borrow
    parameters:
      - name: library
        in: path
        value: $inputs.library
    steps:
      - stepId: lend
        operationId: bookLend
${step.replace(/^/gm, "        ")}
`;
const read = (step: string) => storiesOf(story(step), "borrow.arazzo.yaml", (path) => `content of ${path}`);

test("a step has the parameters of its workflow, conditions with two sides, and the files it names", () => {
  const step = `
requestBody:
  payload:
    file: $file('./cover.txt')
successCriteria:
  - condition: $statusCode == 200
  - condition: $response.body#/title == "Ulysses"
outputs:
  id: $response.body#/id`;
  expect(read(step)).toEqual([
    {
      id: "borrow",
      steps: [
        {
          id: "lend",
          operationId: "bookLend",
          params: { library: "$inputs.library" },
          payload: { file: "content of ./cover.txt" },
          conditions: [
            { left: "$statusCode", right: "200" },
            { left: "$response.body#/title", right: '"Ulysses"' },
          ],
          outputs: { id: "$response.body#/id" },
        },
      ],
    },
  ]);
});

test("what the judge cannot run is refused when it is generated", () => {
  const refused = [
    "successCriteria:\n  - condition: $statusCode < 300",
    "successCriteria:\n  - condition: $.title\n    type: jsonpath",
    "onFailure: []",
    "requestBody:\n  replacements: []",
  ];
  for (const step of refused) expect(() => read(step), step).toThrow(/borrow\.arazzo\.yaml borrow\/lend: .* supported/);
});
