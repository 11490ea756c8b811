/** "Annotation Queues" → `annotationQueues`, "OpenTelemetry" → `openTelemetry`, `call_start` → `callStart` */
export function camelCase(text: string): string {
  const pascal = pascalCase(text);
  return pascal.slice(0, 1).toLowerCase() + pascal.slice(1);
}

/** "Annotation Queues" → `annotation-queues`, `openTelemetry` → `open-telemetry` */
export function kebabCase(text: string): string {
  return pascalCase(text)
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "-")
    .toLowerCase();
}

/** "Annotation Queues" → `AnnotationQueues`, `callStart` → `CallStart` */
export function pascalCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");
}
