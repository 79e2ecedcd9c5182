/** Compares answers of a simulator with what the vendor's OpenAPI document says of them. */

import fs from 'node:fs';
import { Ajv } from 'ajv';

export interface Schema {
  readonly $ref?: string;
  readonly enum?: readonly string[];
  readonly properties?: Record<string, object>;
}

interface Operation {
  readonly query?: Readonly<Record<string, Schema>>;
  readonly body?: object;
  readonly responses: Readonly<Record<string, object>>;
}

export interface Subset {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly examples: Readonly<Record<string, Record<string, unknown>>>;
}

export const subsetAt = (file: URL): Subset => JSON.parse(fs.readFileSync(file, 'utf8'));

const pointer = (text: string): string =>
  text.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D');

/** `checked`: what the schema at this place of an operation has against a value. `faultsOf`: what the document has against an answer. */
export const documentOf = ({ paths, components }: Pick<Subset, 'paths' | 'components'>) => {
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ paths, components }, 'vendor');
  const checked = (template: string, place: string, value: unknown): readonly string[] => {
    const validate = ajv.compile({ $ref: `vendor#/paths/${pointer(template)}/${place}` });
    validate(value);
    return (validate.errors ?? []).map(
      (one) => `${one.instancePath} ${one.message} ${JSON.stringify(one.params)}`,
    );
  };
  const faultsOf = (template: string, method: string, status: number, body: unknown) => {
    if (paths[template]?.[method]?.responses[status] === undefined)
      throw new Error(`the document has no ${method} ${template} with ${status}`);
    return checked(template, `${method}/responses/${status}`, body);
  };
  return { checked, faultsOf };
};
