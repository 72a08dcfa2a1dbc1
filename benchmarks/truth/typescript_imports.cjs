// Prints the file-to-file edges of a JavaScript or TypeScript tree as the TypeScript compiler resolves them.
//
//     NODE_PATH=<folder with typescript> node typescript_imports.cjs TREE
//
// Statements come from the compiler's own syntax tree, files from ts.resolveModuleName with the options of the nearest tsconfig.json.
// Packages of the tree are linked under a virtual node_modules at its root, as an installation would do; nothing is installed or built.
// So a package that names compiled files as its entry cannot be resolved: what files import of it is told as `unknown`. A
// declaration file stands for the JavaScript beside it that it declares, because that is what runs.
const ts = require("typescript")
const path = require("path")
const { execFileSync } = require("child_process")

const tree = require("fs").realpathSync(process.argv[2])
const listed = execFileSync("git", ["ls-files"], { cwd: tree, encoding: "utf8", maxBuffer: 1 << 28 }).split("\n").filter(Boolean)
const code = listed.filter((file) => /\.([cm]?[jt]s|[jt]sx)$/.test(file))
const known = new Set(listed)

const linked = new Map()
for (const file of listed.filter((entry) => path.basename(entry) === "package.json")) {
  try {
    const name = JSON.parse(ts.sys.readFile(path.join(tree, file))).name
    if (name && !linked.has(name)) linked.set(name, path.dirname(path.join(tree, file)))
  } catch {}
}
const modules = path.join(tree, "node_modules") + "/"
function actual(file) {
  if (!file.startsWith(modules)) return file
  const parts = file.slice(modules.length).split("/")
  const name = parts[0].startsWith("@") ? parts.slice(0, 2).join("/") : parts[0]
  return linked.has(name) ? path.join(linked.get(name), file.slice(modules.length + name.length)) : file
}
const scopes = new Set([...linked.keys()].filter((name) => name.startsWith("@")).map((name) => modules + name.split("/")[0]))
const host = {
  fileExists: (file) => ts.sys.fileExists(actual(file)),
  readFile: (file) => ts.sys.readFile(actual(file)),
  directoryExists: (folder) => folder + "/" === modules || scopes.has(folder) || ts.sys.directoryExists(actual(folder)),
  realpath: (file) => ts.sys.realpath(actual(file)),
  getCurrentDirectory: () => tree,
  getDirectories: () => [],
}

const configurations = new Map()
function optionsFor(file) {
  const config = ts.findConfigFile(path.dirname(file), ts.sys.fileExists)
  const key = config && config.startsWith(tree) ? config : ""
  if (!configurations.has(key)) {
    let options = {}
    if (key) {
      const read = ts.readConfigFile(key, ts.sys.readFile)
      options = ts.parseJsonConfigFileContent(read.config || {}, { ...ts.sys, readDirectory: () => [] }, path.dirname(key)).options
    }
    options.allowJs = true
    if (!options.moduleResolution) options.moduleResolution = ts.ModuleResolutionKind.Bundler
    configurations.set(key, options)
  }
  return configurations.get(key)
}

function specifiers(file, text) {
  const found = []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false)
  const take = (node) => node && ts.isStringLiteralLike(node) && found.push(node.text)
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) take(node.moduleSpecifier)
    else if (ts.isImportEqualsDeclaration(node)) take(node.moduleReference.expression)
    else if (ts.isImportTypeNode(node)) take(node.argument.literal)
    else if (ts.isCallExpression(node)) {
      const called = node.expression
      if (called.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(called) && called.text === "require")) take(node.arguments[0])
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const edges = new Set()
const unknown = new Set()
for (const file of code) {
  const full = path.join(tree, file)
  const options = optionsFor(full)
  for (const specifier of specifiers(full, ts.sys.readFile(full))) {
    const resolved = ts.resolveModuleName(specifier, full, options, host).resolvedModule
    if (!resolved) {
      const parts = specifier.split("/")
      const home = linked.get(specifier.startsWith("@") ? parts.slice(0, 2).join("/") : parts[0])
      if (home) unknown.add(file + "\0" + path.relative(tree, home))
      continue
    }
    let target = path.relative(tree, resolved.resolvedFileName)
    const runs = target.replace(/\.d\.([cm]?)ts$/, ".$1js")
    if (known.has(runs)) target = runs
    if (target !== file && known.has(target) && /\.([cm]?[jt]s|[jt]sx)$/.test(target)) edges.add(file + "\0" + target)
  }
}
const pairs = (set) => [...set].sort().map((entry) => entry.split("\0"))
console.log(JSON.stringify({ files: code, edges: pairs(edges), unknown: pairs(unknown) }))
