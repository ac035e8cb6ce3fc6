// Writes what snug explain says as pages below explain/, one for each topic and one with all ids.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

// writePages returns the topics. root is the repository.
export function writePages(root) {
  const json = execFileSync('go', ['run', './cmd/snug', 'explain', '--json'], { cwd: root, maxBuffer: 1 << 24, encoding: 'utf8' })
  const { topics, entries } = JSON.parse(json)
  const of = topic => entries.filter(e => e.topic === topic.id)
  const at = Object.fromEntries(entries.map(e => [e.id, `/explain/${e.topic}#${e.id}`]))
  const dir = path.join(root, 'site/explain')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
  const write = (name, parts) => writeFileSync(path.join(dir, name + '.md'), parts.join('\n\n') + '\n')
  for (const t of topics)
    write(t.id, ['# ' + t.title, t.text, ...of(t).map(e => section(e, at))])
  write('index', ['# All ids and words', '`snug explain ID` prints the same in a terminal.',
    ...topics.flatMap(t => ['## ' + t.title, of(t).map(e => `- [\`${e.id}\`](${at[e.id]}) ${plain(e.title)}`).join('\n')])])
  return topics
}

const section = (e, at) => [`## ${e.id} {id="${e.id}"}`, `**${plain(e.title)}**`, ...e.text.trim().split(/\n\n+/).map(p => paragraph(p, e, at))].join('\n\n')

// A paragraph of plain text as Markdown: ids and files become links, indented lines a block of code.
function paragraph(text, e, at) {
  if (text.startsWith('```')) return text
  if (text.split('\n').every(line => line.startsWith('  '))) return '```sh\n' + text.replace(/^ +/gm, '') + '\n```'
  return text.split(/(`[^`]*`)/).map(part => part.startsWith('`') ? part : plain(part)
    .replace(/\bdocs\/[\w/]+\.md(#[\w-]+)?/g, file => `[${file}](/${file})`)
    .replace(/(?<![\w/.-])[a-z]+([-.][a-z]+)+(?![\w/.-]*[\w/-])/g, id => at[id] && id !== e.id ? `[${id}](${at[id]})` : id)).join('')
}

// A star is a star, except before an item of a list.
const plain = text => text.replace(/(?<!^|\n)\*/g, '\\*')
