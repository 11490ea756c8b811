import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { isSettingName } from "../src/config/config.js";
import { settings } from "../src/config/settings.js";
import { livePath } from "../src/http/live-route.js";
import { collectorMethods, usualGrpcPort } from "../src/otlp/collector.js";

// What the files of `deploy/` say of the rest of the repository. `pnpm proxies` runs the proxies.
const root = join(import.meta.dirname, "../../..");
const deploy = join(import.meta.dirname, "../deploy");
const read = (...path: string[]) => readFileSync(join(...path), "utf8");
const readYaml = (name: string): unknown => parse(read(deploy, name));

interface Manifest {
  packageManager: string;
  engines: { node: string };
  bin: { heddle: string };
  scripts: { start: string };
}
const manifest = (...path: string[]) => JSON.parse(read(...path, "package.json")) as Manifest;

/** The instructions of the Dockerfile, continued lines joined and comments left out. */
const instructions = read(deploy, "Dockerfile")
  .replaceAll(/^\s*#.*\n/gm, "")
  .replaceAll("\\\n", "")
  .split("\n")
  .filter((line) => line.trim() !== "");
const argumentsOf = (name: string) =>
  instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1).trim());

test("the image is built from files that exist, with the package manager and a Node.js of the repository", () => {
  const sources = argumentsOf("COPY")
    .filter((text) => !text.startsWith("--from="))
    .flatMap((text) => text.split(/\s+/).slice(0, -1));
  expect(sources).toContain("pnpm-lock.yaml");
  for (const source of sources) expect(existsSync(join(root, source)), source).toBe(true);
  expect(read(deploy, "Dockerfile")).toContain(`npm install --global ${manifest(root).packageManager}\n`);

  const major = Number(/node:(\d+)-/.exec(argumentsOf("ARG")[0] ?? "")?.[1]);
  expect(major).toBeGreaterThan(Number(/\d+/.exec(manifest(root).engines.node)?.[0]));
  expect(argumentsOf("FROM").every((text) => text.startsWith("${NODE_IMAGE}"))).toBe(true);
});

/** Of HTTP, and of OpenTelemetry over gRPC. */
const ports = [settings.port.default, String(usualGrpcPort)];

test("the image runs what pnpm start runs, as a user that is not root, and keeps data in the volume", () => {
  const [entry = ""] = argumentsOf("ENTRYPOINT");
  const { bin } = manifest(root, "packages/service");
  const flags = /node (.*) packages\/service\/dist\/main\.js serve$/.exec(manifest(root).scripts.start)?.[1];
  expect(JSON.parse(entry)).toEqual(["node", flags, `/app/${bin.heddle}`]);
  expect(argumentsOf("CMD")).toEqual(['["serve"]']);
  expect(argumentsOf("USER")).toEqual(["1000:1000"]);
  expect(argumentsOf("VOLUME")).toEqual(["/data"]);
  expect(argumentsOf("ENV").at(-1)).toMatch(/HEDDLE_HOST=0\.0\.0\.0 +HEDDLE_DATA_DIR=\/data$/);
  expect(argumentsOf("EXPOSE")).toEqual([ports.join(" ")]);
  expect(argumentsOf("HEALTHCHECK")[0]).toContain(`HEDDLE_PORT || ${settings.port.default}}/health\``);

  const unit = read(deploy, "heddle.service");
  expect(unit).toContain(`node ${flags} /opt/heddle/${bin.heddle} serve\n`);
});

test("every setting that a file names is one of the service", () => {
  const files = readdirSync(deploy, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(deploy, name)).isFile(),
  );
  expect(files.length).toBeGreaterThan(8);
  // A name that ends in an underscore stands for all that begin so.
  const named = files.flatMap((name) => read(deploy, name).match(/(?<!MC_)\bHEDDLE_[A-Z_]*[A-Z]\b/g) ?? []);
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((name) => !isSettingName(name))).toEqual([]);
});

interface Compose {
  services: Record<
    string,
    {
      build?: { context: string; dockerfile: string };
      ports?: string[];
      volumes?: string[];
      configs?: Array<{ source: string; target: string }>;
      depends_on?: Record<string, unknown>;
      stop_grace_period?: string;
      read_only?: boolean;
      logging?: { driver: string };
    }
  >;
  volumes: Record<string, null>;
  configs?: Record<string, { content: string }>;
}

test.each(["compose.yaml", "compose.remote-stores.yaml"])("%s builds the image and names only what it has", (name) => {
  const { services, volumes, configs = {} } = readYaml(name) as Compose;
  const heddle = services["heddle"];
  const context = resolve(deploy, heddle?.build?.context ?? "");
  expect(context).toBe(root);
  expect(resolve(context, heddle?.build?.dockerfile ?? "")).toBe(join(deploy, "Dockerfile"));
  expect(heddle).toMatchObject({ read_only: true, init: true });
  expect(heddle?.ports).toEqual(ports.map((port) => `127.0.0.1:${port}:${port}`));
  // The driver of Docker that Podman has, too. It keeps everything unless limited.
  expect(heddle?.logging).toMatchObject({ driver: "json-file", options: { "max-size": expect.any(String) } });
  expect(parseInt(heddle?.stop_grace_period ?? "")).toBeGreaterThan(10);
  for (const { volumes: mounts = [], configs: files = [], depends_on = {} } of Object.values(services)) {
    for (const { source } of files) expect(Object.keys(configs)).toContain(source);
    for (const mount of mounts) expect(Object.keys(volumes)).toContain(mount.split(":")[0]);
    for (const other of Object.keys(depends_on)) expect(Object.keys(services)).toContain(other);
  }
});

test("the example of the environment has every variable that the compose file requires", () => {
  const required = new Set(
    [...read(deploy, "compose.remote-stores.yaml").matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name),
  );
  const given = [...read(deploy, "compose.env.example").matchAll(/^(\w+)=/gm)].map(([, name]) => name);
  expect(new Set(given)).toEqual(required);
});

test("the proxies pass calls of gRPC on to its port", () => {
  const methods = Object.keys(collectorMethods);
  const [, nginxPrefix = "", nginxPort] =
    /location (\S+) {\s+grpc_pass grpc:\/\/127\.0\.0\.1:(\d+);/.exec(read(deploy, "nginx.conf")) ?? [];
  const [, caddyPrefix = "", caddyPort] =
    /@grpc path (\S+)\*\s+reverse_proxy @grpc h2c:\/\/127\.0\.0\.1:(\d+)/.exec(read(deploy, "Caddyfile")) ?? [];
  expect([nginxPort, caddyPort]).toEqual([ports[1], ports[1]]);
  for (const method of methods)
    expect([method.startsWith(nginxPrefix), method.startsWith(caddyPrefix)]).toEqual([true, true]);
});

test("the unit of systemd waits longer for the end than the service takes", () => {
  const seconds = Number(/^TimeoutStopSec=(\d+)s$/m.exec(read(deploy, "heddle.service"))?.[1]);
  const limit = Number(/const stopMs = (\d+);/.exec(read(root, "packages/service/src/cli/serve.ts"))?.[1]) / 1000;
  expect(limit).toBeGreaterThan(0);
  expect(seconds).toBeGreaterThan(limit);
});

interface Probe {
  httpGet: { path: string; port: string };
}

interface StatefulSet {
  metadata: { name: string };
  spec: {
    replicas: number;
    serviceName: string;
    selector: { matchLabels: object };
    template: {
      metadata: { labels: object };
      spec: {
        enableServiceLinks: boolean;
        terminationGracePeriodSeconds: number;
        securityContext: { runAsUser: number };
        volumes: { name: string }[];
        containers: {
          image: string;
          ports: { name: string; containerPort: number }[];
          volumeMounts: { name: string }[];
          startupProbe: Probe;
          livenessProbe: Probe;
          readinessProbe: Probe;
        }[];
      };
    };
    volumeClaimTemplates: { metadata: { name: string } }[];
  };
}

test("the Kubernetes manifests fit together: one writer, its volume, its service and its probes", () => {
  const { spec } = readYaml("kubernetes/statefulset.yaml") as StatefulSet;
  const service = readYaml("kubernetes/service.yaml") as {
    metadata: { name: string };
    spec: { selector: object; ports: { targetPort: string }[] };
  };
  const pod = spec.template.spec;
  const [container] = pod.containers;
  if (container === undefined) throw new Error("no container");
  expect(spec.replicas).toBe(1);
  expect([spec.selector.matchLabels, service.spec.selector]).toEqual(Array(2).fill(spec.template.metadata.labels));
  expect(spec.serviceName).toBe(service.metadata.name);
  // Otherwise HEDDLE_PORT and others of its kind are set for the service of this name.
  expect(pod.enableServiceLinks).toBe(false);
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(10);
  expect(`${pod.securityContext.runAsUser}:${pod.securityContext.runAsUser}`).toBe(argumentsOf("USER")[0]);
  expect(container.ports.map(({ containerPort }) => String(containerPort))).toEqual(ports);
  const portNames = container.ports.map(({ name }) => name);
  expect(portNames).toEqual(["http", "otlp-grpc"]);
  expect(service.spec.ports.map(({ targetPort }) => targetPort)).toEqual(portNames);
  checkProbes(container);
  const volumes = [
    ...pod.volumes.map(({ name }) => name),
    ...spec.volumeClaimTemplates.map((claim) => claim.metadata.name),
  ];
  expect(container.volumeMounts.map(({ name }) => name).toSorted()).toEqual(volumes.toSorted());

  const own =
    /```yaml\n(# kustomization\.yaml\n.*?)```/s.exec(read(root, "packages/docs/guides/deploying.md"))?.[1] ?? "";
  const { images } = parse(own) as { images: { name: string }[] };
  // Kustomize says nothing of a name that does not occur.
  expect(images.map(({ name }) => name)).toEqual([container.image]);

  const base = readYaml("kubernetes/kustomization.yaml") as { resources: string[]; images?: unknown };
  // A name that is replaced here could not be replaced under the same name by a kustomization around it.
  expect(base.images).toBeUndefined();
  for (const name of base.resources) expect(existsSync(join(deploy, "kubernetes", name)), name).toBe(true);
});

/** A pod that waits for its stores is not ready and is not to be restarted. */
function checkProbes({
  startupProbe,
  livenessProbe,
  readinessProbe,
}: Record<"startupProbe" | "livenessProbe" | "readinessProbe", Probe>): void {
  const { paths } = JSON.parse(read(root, "spec/dist/tracing.json")) as { paths: Record<string, { get?: object }> };
  for (const probe of [startupProbe, readinessProbe]) {
    expect(paths[probe.httpGet.path]?.get).toMatchObject({ security: [] });
    expect(probe).toMatchObject({ httpGet: { path: "/health", port: "http" } });
  }
  expect(livenessProbe).toMatchObject({ httpGet: { path: livePath, port: "http" } });
}

test("the manifests of replicas fit together, and name every setting that replicas share", () => {
  interface Deployment {
    spec: Omit<StatefulSet["spec"], "volumeClaimTemplates" | "template"> & {
      template: {
        metadata: { labels: object };
        spec: StatefulSet["spec"]["template"]["spec"] & {
          containers: { envFrom: unknown; env: { name: string; valueFrom?: object }[] }[];
        };
      };
    };
  }
  const { spec } = readYaml("kubernetes-replicas/deployment.yaml") as Deployment;
  const [container] = spec.template.spec.containers;
  if (container === undefined) throw new Error("no container");
  checkProbes(container);
  expect(spec.replicas).toBe(3);
  expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
  const budget = readYaml("kubernetes-replicas/pod-disruption-budget.yaml") as Pick<Deployment, "spec">;
  expect(budget.spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
  // Replicas are pods of the namespace for one another.
  for (const same of ["service.yaml", "network-policy.yaml"]) {
    expect(read(deploy, "kubernetes-replicas", same)).toBe(read(deploy, "kubernetes", same));
  }
  expect(spec.template.spec.enableServiceLinks).toBe(false);
  expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(10);
  expect(container.ports.map(({ containerPort }) => String(containerPort))).toEqual(ports);
  expect(container.env).toContainEqual({
    name: settings.replicaAddress.name,
    valueFrom: { fieldRef: { fieldPath: "status.podIP" } },
  });
  for (const { name } of container.env) expect(isSettingName(name), name).toBe(true);
  expect(container.volumeMounts.map(({ name }) => name)).toEqual(spec.template.spec.volumes.map(({ name }) => name));
  const guide = read(root, "packages/docs/guides/deploying.md");
  const { databaseUrl, clickhouseUrl, blobsUrl, apiKey } = settings;
  for (const { name } of [databaseUrl, clickhouseUrl, blobsUrl, apiKey]) {
    expect(guide).toContain(`--from-literal=${name}=`);
  }
  const base = readYaml("kubernetes-replicas/kustomization.yaml") as { resources: string[] };
  for (const name of base.resources) expect(existsSync(join(deploy, "kubernetes-replicas", name)), name).toBe(true);
});

interface NetworkPolicy {
  spec: {
    podSelector: { matchLabels: object };
    policyTypes: string[];
    ingress: { from: object[]; ports: { port: string }[] }[];
    egress: { to: { ipBlock?: { except: string[] } }[] }[];
  };
}

test("on Kubernetes, the policy is about the pods, opens their ports alone, and closes what gives out credentials", () => {
  const { spec: pods } = readYaml("kubernetes/statefulset.yaml") as StatefulSet;
  const { podSelector, policyTypes, ingress, egress } = (readYaml("kubernetes/network-policy.yaml") as NetworkPolicy)
    .spec;
  expect(podSelector.matchLabels).toEqual(pods.template.metadata.labels);
  expect(policyTypes).toEqual(["Ingress", "Egress"]);
  const open = pods.template.spec.containers.flatMap((container) => container.ports.map(({ name }) => name));
  expect(ingress.map((rule) => rule.ports.map(({ port }) => port))).toEqual([open]);
  // A rule that names nobody allows everybody.
  expect(ingress.every(({ from }) => from.length > 0)).toBe(true);
  const blocks = egress.flatMap(({ to }) => to.flatMap(({ ipBlock }) => ipBlock?.except ?? []));
  expect(blocks).toEqual(["169.254.169.254/32", "fd00:ec2::254/128"]);
});

test("on Kubernetes, a node with the service can be drained", () => {
  const { spec: pods } = readYaml("kubernetes/statefulset.yaml") as StatefulSet;
  const { spec } = readYaml("kubernetes/pod-disruption-budget.yaml") as {
    spec: { maxUnavailable: number; selector: { matchLabels: object } };
  };
  expect(spec.selector.matchLabels).toEqual(pods.template.metadata.labels);
  expect(spec.maxUnavailable).toBeGreaterThanOrEqual(1);
});

interface Dashboard {
  panels: { type: string; title: string; options?: { legend: { calcs?: string[] } } }[];
  templating: { list: { name: string; current?: object }[] };
}

test("the dashboard has every field that Grafana's schema of dashboards requires", () => {
  const { panels, templating } = JSON.parse(read(deploy, "grafana-dashboard.json")) as Dashboard;
  const charts = panels.filter(({ type }) => type !== "row");
  for (const { title, options } of charts) expect(Array.isArray(options?.legend.calcs), title).toBe(true);
  for (const { name, current = { text: "", value: "" } } of templating.list)
    expect(Object.keys(current), name).toEqual(["text", "value"]);
});
