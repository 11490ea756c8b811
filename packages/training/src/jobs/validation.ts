import type { Trainer } from "../port.js";

/** How the weights of a job are measured on data that are not trained. */
export interface ValidationPlan {
  /** Steps between evaluations; the last step is followed by one in any case. */
  everySteps: number;
  /** Evaluations in a row without a lower loss that end the training. Absent: it does not end early. */
  patience?: number | undefined;
  /** Whether the result is the weights of the best evaluation, not those of the last step. */
  keepsBest?: boolean;
  loss(trainer: Trainer): Promise<number>;
}

/** What evaluations have found. JSON. */
export interface ValidationState {
  loss: number;
  best: number;
  /** Gradient step, from 0, after which the loss was the lowest. */
  bestStep: number;
  /** Evaluations since then. */
  withoutBetter: number;
}

interface Evaluated {
  /** What the event of the step has more. */
  data: Record<string, number>;
  /** Whether the training ends with the step, before its last one. */
  stops: boolean;
  /** Whether the weights are the best so far, are wanted, and will be changed by further steps. */
  isKept: boolean;
}

export interface ValidationWatch {
  /** Evaluates where it is due after the step with this index. */
  after(trainer: Trainer, index: number): Promise<Evaluated>;
  /** Undefined before the first evaluation. */
  readonly state: ValidationState | undefined;
}

/** @param earlier what was found before an interruption. */
export function validationWatch(
  { validation, steps }: { validation?: ValidationPlan | undefined; steps: number },
  earlier?: ValidationState,
): ValidationWatch {
  let state = earlier;
  return {
    get state() {
      return state;
    },
    async after(trainer, index): Promise<Evaluated> {
      const done = index + 1;
      if (validation === undefined || (done % validation.everySteps !== 0 && done !== steps))
        return { data: {}, stops: false, isKept: false };
      const loss = await validation.loss(trainer);
      const { best = Infinity, bestStep = index, withoutBetter = 0 } = state ?? {};
      // A loss that is not a number is not better than any.
      state =
        loss < best
          ? { loss, best: loss, bestStep: index, withoutBetter: 0 }
          : { loss, best, bestStep, withoutBetter: withoutBetter + 1 };
      const { patience = Infinity, keepsBest = false } = validation;
      return {
        data: { "val/loss": loss, "val/best_loss": state.best },
        stops: done < steps && state.withoutBetter >= patience,
        isKept: keepsBest && done < steps && state.bestStep === index,
      };
    },
  };
}

/** What the last event and the checkpoint say of the evaluations. */
export function validationSummary(
  state: ValidationState | undefined,
  { keepsBest = false }: Partial<ValidationPlan> = {},
): Record<string, number> {
  if (state === undefined) return {};
  return {
    "val/loss": keepsBest ? state.best : state.loss,
    "val/best_loss": state.best,
    "val/best_gradient_step": state.bestStep,
  };
}

/** Reads what was stored of a state; undefined if it is none. */
export function validationStateOf(stored: unknown): ValidationState | undefined {
  const { loss, best, bestStep, withoutBetter } = (stored ?? {}) as Record<string, unknown>;
  const isNumber = (value: unknown): value is number => typeof value === "number";
  return isNumber(loss) && isNumber(best) && isNumber(bestStep) && isNumber(withoutBetter)
    ? { loss, best, bestStep, withoutBetter }
    : undefined;
}
