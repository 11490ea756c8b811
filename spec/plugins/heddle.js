import { basename, dirname, join, relative } from "node:path";

const json = "application/json";

/** The groups of `x-heddle-responses`: which operations get their responses. `open` says that no key is needed. */
const groups = {
  always: () => true,
  withKey: (_operation, open) => !open,
  withBody: ({ requestBody }) => requestBody !== undefined,
  withNonJsonBody: ({ requestBody }) => Object.keys(requestBody?.content ?? {}).some((media) => media !== json),
  withInput: ({ parameters = [], requestBody, "x-heddle-raw-body": raw = false }) =>
    !raw && (parameters.length > 0 || requestBody !== undefined),
};

/** Adds the responses of the document's `x-heddle-responses` to every operation of their group that has no own ones. */
function sharedResponses() {
  let shared = {};
  let security = [];
  let directory = "";
  return {
    Root(root, { location, report }) {
      shared = root["x-heddle-responses"] ?? {};
      security = root.security ?? [];
      directory = dirname(location.source.absoluteRef);
      delete root["x-heddle-responses"];
      for (const group of Object.keys(shared).filter((name) => !Object.hasOwn(groups, name))) {
        const message = `Unknown group "${group}"; the groups are ${Object.keys(groups).join(", ")}.`;
        report({ message, location: location.child(["x-heddle-responses", group]).key() });
      }
    },
    Operation(operation, { location, report }) {
      const { responses, security: own = security } = operation;
      if (!responses) return;
      const file = location.source.absoluteRef;
      for (const [group, entries] of Object.entries(shared)) {
        if (!groups[group]?.(operation, own.length === 0)) continue;
        for (const [status, { $ref }] of Object.entries(entries)) {
          const added = refFrom(file, join(directory, $ref));
          if (responses[status]?.$ref === added) {
            const message = `Leave out this response: ${status} is added to every operation of the group "${group}".`;
            report({ message, location: location.child(["responses", status]).key() });
          }
          responses[status] ??= { $ref: added };
        }
      }
    },
  };
}

/** Adds the headers of the document's `x-heddle-response-headers` to every response. */
function sharedHeaders() {
  let shared = {};
  let directory = "";
  const complete = new Set();
  const add = (response, { location, report }) => {
    if (complete.has(response)) return;
    complete.add(response);
    const added = {};
    for (const [name, { $ref }] of Object.entries(shared)) {
      if (response.headers?.[name] !== undefined) {
        const message = `Leave out this header: ${name} is added to every response.`;
        report({ message, location: location.child(["headers", name]).key() });
      }
      added[name] = { $ref: refFrom(location.source.absoluteRef, join(directory, $ref)) };
    }
    if (Object.keys(added).length > 0) response.headers = { ...added, ...response.headers };
  };
  return {
    Root(root, { location, report, resolve }) {
      shared = root["x-heddle-response-headers"] ?? {};
      directory = dirname(location.source.absoluteRef);
      delete root["x-heddle-response-headers"];
      // The walk does not reach the responses that `sharedResponses` adds.
      for (const entry of Object.values(root["x-heddle-responses"] ?? {}).flatMap(Object.values)) {
        const { node, location: found } = resolve(entry);
        if (node !== undefined) add(node, { location: found, report });
      }
    },
    Response: add,
  };
}

/**
 * Shows the examples `<operationId>Request` and `<operationId>Response` at the request body and the response "200",
 * before those the operation states. For `paths/<group>.yaml` they are in `examples/<group>.yaml`. Of several media
 * types JSON gets them.
 */
function namedExamples() {
  return {
    Operation({ operationId, requestBody, responses }, { location, report }) {
      const file = location.source.absoluteRef;
      const examples = join(dirname(file), "../../examples", basename(file));
      const show = (body, path, name) => {
        const content = body?.content ?? {};
        const type = json in content ? json : Object.keys(content)[0];
        const media = content[type];
        if (!media) return;
        const added = refFrom(file, `${examples}#/${name}`);
        if (media.examples?.[name]?.$ref === added) {
          const message = `Leave out this example: ${name} is added by its name.`;
          report({ message, location: location.child([...path, "content", type, "examples", name]).key() });
        }
        media.examples = { [name]: { $ref: added }, ...media.examples };
      };
      show(requestBody, ["requestBody"], `${operationId}Request`);
      show(responses?.["200"], ["responses", "200"], `${operationId}Response`);
    },
  };
}

/** A reference to `target`, a path with a pointer, as it is written in `file`. */
function refFrom(file, target) {
  return relative(dirname(file), target).replaceAll("\\", "/");
}

export default () => ({
  id: "heddle",
  preprocessors: {
    oas3: {
      "shared-headers": sharedHeaders,
      "shared-responses": sharedResponses,
      "named-examples": namedExamples,
    },
  },
});
