/** A promise settled from outside; later settlements do nothing. */
export class Deferred<T> {
  readonly promise: Promise<T>
  resolve: (value: T) => void = () => undefined
  reject: (reason: Error) => void = () => undefined

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }
}
