/**
 * The few GraphQL operations with which SDKs start up (`weave.init` of the Python SDK asks them before its first
 * trace). It has no schema: the root field decides, and each response holds a superset of what the known
 * releases select.
 */
export interface GraphqlRequest {
  query: string;
  variables: Record<string, unknown>;
}

export interface GraphqlContext {
  userName: string;
  entity: string;
  /** The project's name, or undefined when it does not exist or the caller may not see it. */
  findProject(entity: string, name: string): Promise<string | undefined>;
  /** Makes the project if needed; throws when the caller may not write there. */
  ensureProject(entity: string, name: string): Promise<void>;
}

export type GraphqlResponse =
  | { data: Record<string, unknown> }
  | { errors: { message: string; extensions?: { code: string } }[] };

type Resolve = (variables: Record<string, unknown>, context: GraphqlContext) => Promise<unknown>;

const rootFields: Record<string, Resolve> = {
  async viewer(_variables, { userName, entity }) {
    return {
      id: userName,
      username: userName,
      entity,
      email: null,
      flags: "{}",
      defaultEntity: { name: entity },
      teams: { edges: [] },
    };
  },
  project: readProject,
  model: readProject,
  async upsertModel(variables, context) {
    const input = isRecord(variables["input"]) ? variables["input"] : variables;
    const name = text(input["name"]) ?? text(input["id"]);
    if (name === undefined) throw new GraphqlError("upsertModel needs a project name");
    const entity = text(input["entityName"]) ?? text(input["entity"]) ?? context.entity;
    await context.ensureProject(entity, name);
    return { model: projectFields(entity, name), project: projectFields(entity, name), inserted: true };
  },
  async serverInfo() {
    return { features: [], frontendHost: null, cliVersionInfo: null, latestLocalVersionInfo: null };
  },
  async entity(variables, context) {
    const name = text(variables["name"]) ?? text(variables["entityName"]) ?? context.entity;
    return { name, readOnly: false, organization: null };
  },
};

/** Runs one request; its errors are GraphQL errors inside a 200, as clients of such endpoints expect. */
export async function runGraphql(request: GraphqlRequest, context: GraphqlContext): Promise<GraphqlResponse> {
  const field = rootField(request.query);
  const resolve = field === undefined || !Object.hasOwn(rootFields, field) ? undefined : rootFields[field];
  if (field === undefined || resolve === undefined) {
    return {
      errors: [
        { message: `Heddle supports only ${Object.keys(rootFields).join(", ")} here, not ${field ?? "this query"}` },
      ],
    };
  }
  try {
    return { data: { [field]: await resolve(request.variables, context) } };
  } catch (error) {
    if (!(error instanceof GraphqlError)) throw error;
    return { errors: [{ message: error.message, ...(error.code && { extensions: { code: error.code } }) }] };
  }
}

/** An error that the client gets in the `errors` of the response. */
export class GraphqlError extends Error {
  override name = "GraphqlError";
  constructor(
    message: string,
    readonly code?: string,
  ) {
    super(message);
  }
}

/** The first field selected by a query or mutation: the name after the first brace, an alias skipped. */
function rootField(query: string): string | undefined {
  const match = /^[^{]*\{\s*(?:[_A-Za-z]\w*\s*:\s*)?([_A-Za-z]\w*)/.exec(query.replace(/#[^\n]*/g, ""));
  return match?.[1];
}

async function readProject(variables: Record<string, unknown>, context: GraphqlContext): Promise<unknown> {
  const name = text(variables["name"]) ?? text(variables["project"]);
  const entity = text(variables["entityName"]) ?? text(variables["entity"]) ?? context.entity;
  if (name === undefined) return null;
  const found = await context.findProject(entity, name);
  return found === undefined ? null : projectFields(entity, found);
}

function projectFields(entity: string, name: string): Record<string, unknown> {
  // Ids are base64 text because SDKs decode them.
  const id = Buffer.from(`Project:v1:${name}:${entity}`).toString("base64");
  return {
    id,
    name,
    entityName: entity,
    entity: { name: entity },
    description: null,
    repo: null,
    dockerImage: null,
    internalId: id,
  };
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
