import { useNavigate, useParams, useSearch } from "../router/routing.js";
import { ComparisonView } from "./comparison/comparison-view.js";
import { RunsList } from "./runs-list.js";
import type { EvaluationsSearch } from "./evaluations-search.js";
import "./evaluations.css";

/** The evaluation runs of a project, or some of them compared. */
export function EvaluationsScreen() {
  const from = "/$entity/$project/evaluations";
  const { entity, project } = useParams({ from });
  const search = useSearch({ from });
  const navigate = useNavigate({ from });
  const change = (by: EvaluationsSearch, replace = false) =>
    void navigate({ search: (given) => ({ ...given, ...by }), replace });
  const projectId = `${entity}/${project}`;
  const { base, vs } = search;
  return base === undefined ? (
    <RunsList projectId={projectId} search={search} onChange={change} />
  ) : (
    <ComparisonView key={`${base} ${vs ?? ""}`} projectId={projectId} base={base} search={search} onChange={change} />
  );
}
