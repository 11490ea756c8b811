import { projectsQuery } from "@heddle/client/tracing";
import type { ProjectSummary } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";

const refreshMs = 5000;
/** While the first call is awaited. */
const awaitMs = 1000;

/** The projects that the key may read, those with the newest calls first, as they are now. */
export function useProjects() {
  const session = useSession();
  return useQuery({
    queryKey: ["projects"],
    queryFn: async ({ signal }) => {
      const projects: ProjectSummary[] = [];
      for (let after: string | undefined; ;) {
        const page = await projectsQuery(session.connection, { limit: 1000, after }, { signal });
        projects.push(...page.projects);
        if (page.next === undefined) return projects.toSorted(byLastCall);
        after = page.next;
      }
    },
    refetchInterval: ({ state: { data } }) => (data?.every(isEmpty) === true ? awaitMs : refreshMs),
  });
}

export const isEmpty = ({ call_count }: ProjectSummary): boolean => call_count === 0;

function byLastCall(a: ProjectSummary, b: ProjectSummary): number {
  const [first = "", second = ""] = [a.last_started_at, b.last_started_at];
  return second < first ? -1 : second > first ? 1 : a.project_id < b.project_id ? -1 : 1;
}
