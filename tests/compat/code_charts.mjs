// Charts, images and tables. Needs matplotlib, pandas and PIL in the sandbox.
import { assert, codeTest } from './code_support.mjs'

const chartOf = async (sandbox, code) => {
  const execution = await sandbox.runCode(`import matplotlib.pyplot as plt\nimport numpy as np\n${code}\nplt.show()`)
  assert.equal(execution.error, undefined, execution.error?.traceback)
  assert.ok(execution.results[0].png)
  return execution.results[0].chart
}

codeTest('charts of every kind', async (sandbox) => {
  const line = await chartOf(sandbox, 'plt.plot([1, 2, 3], label="l")\nplt.xlabel("Time (s)")\nplt.title("T")')
  assert.deepEqual([line.type, line.title, line.x_label, line.x_unit, line.elements[0].label, line.elements[0].points.length], ['line', 'T', 'Time (s)', 's', 'l', 3])
  const scatter = await chartOf(sandbox, 'plt.scatter([1, 2], [3, 4], label="A")')
  assert.deepEqual(scatter.elements, [{ label: 'A', points: [[1, 3], [2, 4]] }])
  const bar = await chartOf(sandbox, 'plt.bar(["a", "b"], [1, 2], label="G")')
  assert.deepEqual(bar.elements, [{ label: 'a', group: 'G', value: 1 }, { label: 'b', group: 'G', value: 2 }])
  const pie = await chartOf(sandbox, 'plt.pie([90, 10], labels=["x", "y"])')
  assert.deepEqual(pie.elements, [{ label: 'x', angle: 324, radius: 1 }, { label: 'y', angle: 36, radius: 1 }])
  const box = await chartOf(sandbox, 'plt.boxplot([[85, 90, 78, 92, 88]], labels=["A"], patch_artist=True)')
  assert.deepEqual(box.elements, [{ label: 'A', min: 78, first_quartile: 85, median: 88, third_quartile: 90, max: 92, outliers: [] }])
  const both = await chartOf(sandbox, 'f, axes = plt.subplots(1, 2)\naxes[0].plot([1])\naxes[1].scatter([1], [2])\nf.suptitle("S")')
  assert.deepEqual([both.type, both.title, ...both.elements.map((one) => one.type)], ['superchart', 'S', 'line', 'scatter'])
  assert.equal((await chartOf(sandbox, 'plt.imshow([[1, 2]])')).type, 'unknown')
})

codeTest('tables and images', async (sandbox) => {
  const table = (await sandbox.runCode('import pandas as pd\npd.DataFrame({"a": [1, 2], "t": pd.to_datetime(["2020-01-01", "2020-01-02"])})')).results[0]
  assert.deepEqual(table.data, { a: [1, 2], t: ['2020-01-01T00:00:00', '2020-01-02T00:00:00'] })
  assert.match(table.html, /<table/)
  const shown = await sandbox.runCode('from PIL import Image\nImage.new("RGB", (2, 2)).show()')
  assert.ok(shown.results[0].png)
  const saved = await sandbox.runCode('Image.new("RGB", (2, 2)).save("made.png")')
  assert.ok(saved.results[0].png)
  assert.equal(await sandbox.files.exists('/home/user/made.png'), true)
})
