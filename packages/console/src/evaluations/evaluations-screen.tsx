import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { RunsList } from "./runs-list.js";
import type { EvaluationsSearch } from "./evaluations-search.js";
import "./evaluations.css";

/** The evaluation runs of a project. */
export function EvaluationsScreen() {
  const from = "/$entity/$project/evaluations";
  const { entity, project } = useParams({ from });
  const search = useSearch({ from });
  const navigate = useNavigate({ from });
  const change = (by: EvaluationsSearch, replace = false) =>
    void navigate({ search: (given) => ({ ...given, ...by }), replace });
  return <RunsList projectId={`${entity}/${project}`} search={search} onChange={change} />;
}
