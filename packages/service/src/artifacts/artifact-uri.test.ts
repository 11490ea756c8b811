import { expect, test } from "vitest";
import { artifactUri, parseArtifactUri } from "./artifact-uri.js";

test.each([
  ["wandb-artifact:///acme/demo/tutor", { name: "tutor" }],
  ["wandb-artifact:///acme/demo/tutor:step3", { name: "tutor", selector: "step3" }],
  ["wandb-artifact://acme/demo/tutor:v0", { name: "tutor", selector: "v0" }],
  ["artifact:///acme/demo/tutor:latest", { name: "tutor", selector: "latest" }],
  ["HEDDLE-Artifact:///acme/demo/my.data_1-2:best", { name: "my.data_1-2", selector: "best" }],
])("%s names an artifact", (uri, named) => {
  expect(parseArtifactUri(uri)).toEqual({ project_id: "acme/demo", ...named });
});

test("entities and projects may have any name that a project can have", () => {
  expect(parseArtifactUri("wandb-artifact:///my team/a:b/tutor:v1")).toEqual({
    project_id: "my team/a:b",
    name: "tutor",
    selector: "v1",
  });
});

test.each([
  "",
  "tutor",
  "acme/demo/tutor",
  "https://acme/demo/tutor",
  "wandb-artifact:acme/demo/tutor",
  "wandb-artifact:////acme/demo/tutor",
  "wandb-artifact:///acme/demo",
  "wandb-artifact:///acme/demo/",
  "wandb-artifact:///acme/demo/tutor:",
  "wandb-artifact:///acme/demo/:v0",
  "wandb-artifact:///acme/demo/tutor/v0",
  "wandb-artifact:///acme//tutor",
  "wandb-artifact:///ac\0me/demo/tutor",
])("%j names none", (uri) => {
  expect(parseArtifactUri(uri)).toBeUndefined();
});

test("a URI is written as it is read", () => {
  for (const uri of ["heddle-artifact:///acme/demo/tutor:step3", "heddle-artifact:///acme/demo/tutor"]) {
    const parsed = parseArtifactUri(uri);
    expect(parsed && artifactUri(parsed)).toBe(uri);
  }
});
