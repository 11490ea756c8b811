/** The project of the examples, in bodies and refs. */
const ofExamples = "acme/demo";

/**
 * Puts a project of the reader into the form of an operation: asks the service which ones the key may see, offers them, and
 * takes the first in place of that of the example. Does nothing where the operation has no project or the key sees none.
 */
export function offerProjects(section: HTMLElement, base: string): void {
  const key = section.querySelector<HTMLInputElement>("[name=key]");
  const choice = section.querySelector<HTMLSelectElement>("[name=own-project]");
  const label = choice?.closest("label");
  if (key === null || choice === null || !label) return;
  let present = ofExamples;
  const put = (project: string) => {
    replaceProject(section, present, project);
    present = project;
  };
  choice.addEventListener("change", () => put(choice.value));
  let asked = "";
  const ask = async () => {
    if (key.value === "" || key.value === asked) return;
    asked = key.value;
    const names = await projectsOf(base, key.value);
    label.hidden = names.length === 0;
    choice.replaceChildren(...names.map((name) => new Option(name, name)));
    if (names[0] !== undefined) put(names[0]);
  };
  key.addEventListener("change", () => void ask());
  void ask();
}

async function projectsOf(base: string, key: string): Promise<string[]> {
  try {
    const response = await fetch(`${base}/projects/query`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      credentials: "omit",
      body: "{}",
    });
    const { projects } = (await response.json()) as { projects?: { project_id: string }[] };
    return (projects ?? []).map(({ project_id: id }) => id);
  } catch {
    // The form works without the offer.
    return [];
  }
}

/** What the reader has written elsewhere stays as it is. */
function replaceProject(section: HTMLElement, from: string, to: string): void {
  const [entity = "", name = ""] = to.split("/");
  const [entityBefore, nameBefore] = from.split("/");
  for (const field of section.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("[data-in]")) {
    if (field.type === "file") continue;
    if (field.name === "entity" && field.value === entityBefore) field.value = entity;
    else if (field.name === "project" && field.value === nameBefore) field.value = name;
    else field.value = field.value.replaceAll(from, to);
  }
}
