import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { mayRead } from "../access/authorize.js";
import { splitProject } from "../access/project-id.js";
import { capabilitiesOf } from "./capabilities.js";
import type { Caller, Services } from "../services.js";

/** Every release of the Python client may start; what it may use follows from trace_server_version. */
const minPythonVersion = "0.0.0";

export function serviceHandlers(services: Services): TracingHandlers<Caller>["service"] {
  const { config, control, version } = services;
  return {
    async readRoot() {
      return { status: "ok" };
    },

    async readVersion() {
      return { version };
    },

    async serverInfo() {
      const heddle = {
        version,
        capabilities: capabilitiesOf(services),
        ...(config.publicUrl !== undefined && { public_url: config.publicUrl }),
      };
      return { min_required_weave_python_version: minPythonVersion, trace_server_version: version, heddle };
    },

    /** No external service is asked: the address is returned, its location is unknown, and no country is excluded. */
    async getCallerLocation({ query, remoteAddress }) {
      return { ip: query.ip ?? remoteAddress ?? "", location: null, allowed: true };
    },

    async projectsInfo({ body }, caller) {
      const found = [];
      for (const projectId of body.project_ids) {
        const name = splitProject(projectId);
        if (name === undefined || !mayRead(caller, projectId)) continue;
        const project = await control.projects.get(name.entity, name.project);
        if (project !== undefined) {
          found.push({ external_project_id: project.project_id, internal_project_id: project.id });
        }
      }
      return found;
    },
  };
}
