import { HeddleError } from "@heddle/errors";
import type {
  EvaluationRecord,
  EvaluationRecordKind,
  EvaluationRecordQuery,
  StoredCall,
  TraceStore,
} from "@heddle/trace-store";

/** How calls of one kind are shown. */
export interface RecordView<Wire> {
  kind: EvaluationRecordKind;
  /** As messages call it. */
  noun: string;
  /** Columns of the call that `show` uses. */
  columns: string[];
  show: (call: StoredCall, record: EvaluationRecord) => Wire;
}

type Selection = Omit<EvaluationRecordQuery, "project_id" | "kind">;

/** Calls whose payloads are read at a time. */
const readCalls = 500;
/** Also what a deletion of calls takes. */
const maxDeleted = 1000;

/** Reads of the runs, predictions or scores of projects, whoever made them. */
export class EvaluationCalls<Wire> {
  readonly #store: TraceStore;
  readonly #view: RecordView<Wire>;

  constructor({ store }: { store: TraceStore }, view: RecordView<Wire>) {
    this.#store = store;
    this.#view = view;
  }

  async *list(projectId: string, selection: Selection, signal: AbortSignal): AsyncGenerator<Wire> {
    const { kind } = this.#view;
    const records = await this.#store.evaluations.find({ ...selection, project_id: projectId, kind }, { signal });
    for (let from = 0; from < records.length; from += readCalls) {
      yield* await this.#show(projectId, records.slice(from, from + readCalls), signal);
    }
  }

  /** Throws `not_found`. */
  async read(projectId: string, id: string, signal: AbortSignal): Promise<Wire> {
    const record = await this.record(projectId, id, "");
    const call = await this.#store.calls.read({ project_id: projectId, id }, { signal });
    if (call === undefined) throw this.#missing(id);
    return this.#view.show(call, record);
  }

  /** Throws `not_found`, with `argument` as the loc unless it is empty. */
  async record(projectId: string, id: string, argument: string): Promise<EvaluationRecord> {
    const { kind } = this.#view;
    const [record] = await this.#store.evaluations.find({ project_id: projectId, kind, ids: [id] });
    if (record === undefined) throw this.#missing(id, argument);
    return record;
  }

  /** Those of the ids that are records of this kind. Throws `too_large` for more than 1000 ids. */
  async existing(projectId: string, ids: readonly string[], argument: string): Promise<EvaluationRecord[]> {
    if (ids.length > maxDeleted) {
      throw new HeddleError("too_large", `at most ${maxDeleted} ids at a time`, { loc: [argument] });
    }
    return await this.#store.evaluations.find({ project_id: projectId, kind: this.#view.kind, ids });
  }

  async #show(projectId: string, records: readonly EvaluationRecord[], signal: AbortSignal): Promise<Wire[]> {
    const { columns, show } = this.#view;
    const calls = new Map<string, StoredCall>();
    const filter = { call_ids: records.map(({ id }) => id) };
    // A filter without ids would be none.
    if (records.length > 0) {
      const request = { project_id: projectId, filter, columns };
      for await (const call of this.#store.calls.query(request, { signal })) calls.set(call.id, call);
    }
    return records.flatMap((record) => {
      const call = calls.get(record.id);
      return call === undefined ? [] : [show(call, record)];
    });
  }

  #missing(id: string, argument = ""): HeddleError {
    const message = `there is no ${this.#view.noun} ${id}`;
    return new HeddleError("not_found", message, argument === "" ? {} : { loc: [argument] });
  }
}
