// The site: README.md, docs/ and a page for each topic of snug explain, each at its own path.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { writePages } from '../explain.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const repository = 'https://github.com/snug-go/snug'

// The pages of the repository in the order of the sidebar, by question.
const groups = {
  'Start': ['README.md', 'docs/install.md', 'docs/config.md', 'docs/follow.md', 'docs/adapt.md', 'docs/migrate.md'],
  'Is something wrong?': ['docs/doctor.md', 'docs/ci.md', 'docs/lint.md'],
  'Is the number right?': ['docs/bench.md', 'docs/size.md', 'docs/experiments.md'],
  'A cluster': ['docs/cluster.md', 'docs/policy.md', 'docs/examples/kyverno/README.md', 'docs/rollout.md', 'docs/runbooks/README.md'],
  'Reference': ['docs/json.md'],
}

const pages = ['README.md', ...readdirSync(path.join(root, 'docs'), { recursive: true }).filter(f => f.endsWith('.md')).map(f => 'docs/' + f)]
const missing = pages.filter(p => !p.startsWith('docs/runbooks/') && !Object.values(groups).flat().includes(p))
if (missing.length) throw new Error(`not in the sidebar of site/.vitepress/config.mjs: ${missing.join(', ')}`)

const place = file => file.replace(/README\.md$/, 'index.md').replace(/^site\//, '')
const title = file => file === 'README.md' ? 'What snug does' : readFileSync(path.join(root, file), 'utf8').match(/^# (.*)/)[1]

// A link of a page leads to another page, or to the file in the repository if that is no page.
function target(page, href) {
  if (/^([a-z]+:|\/|#|$)/.test(href)) return href
  const [file, hash = ''] = href.split(/(?=#)/)
  const to = path.posix.join(path.posix.dirname(page), file)
  const at = path.join(root, to)
  if (!existsSync(at)) throw new Error(`${page} links ${href}, and there is no such file`)
  for (const p of [to, path.posix.join(to, 'README.md')])
    if (pages.includes(p)) return '/' + place(p) + hash
  return `${repository}/${statSync(at).isDirectory() ? 'tree' : 'blob'}/main/${to}${hash}`
}

function links(md) {
  md.core.ruler.push('repository', state => {
    for (const block of state.tokens) {
      if (/^<!--[^]*-->$/.test(block.content)) block.children = [] // a comment is not for readers
      if (block.type === 'code_block') [block.type, block.tag] = ['fence', 'code'] // as wide as the page, too
      if (['console', 'promql'].includes(block.info)) block.info = 'txt' // one colour for all output; the highlighter lacks PromQL
      for (const token of block.children ?? [])
        if (token.type === 'link_open') token.attrSet('href', target(state.env.relativePath ?? '', token.attrGet('href')))
    }
  })
}

// The pages lie outside of this folder, which has the packages that they become programs with.
const packages = {
  name: 'packages-of-the-site',
  enforce: 'pre',
  resolveId(id, importer) {
    if (/^vue(\/|$)/.test(id) && importer?.endsWith('.md')) return this.resolve(id, path.join(root, 'site/package.json'), { skipSelf: true })
  },
}

export default defineConfig({
  title: 'snug',
  description: 'Makes Go programs fit the containers they run in',
  lang: 'en',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: root,
  srcExclude: ['!(README.md|docs|site)', '!(docs|site)/*', '!(docs|site)/*/**', 'site/*.md'],
  outDir: path.join(root, 'dist/site'),
  cacheDir: path.join(root, 'site/node_modules/.vitepress'),
  rewrites: place,
  ignoreDeadLinks: 'localhostLinks',
  markdown: { html: false, config: links, theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } },
  vite: { plugins: [packages] },
  themeConfig: {
    search: { provider: 'local' },
    outline: 'deep',
    socialLinks: [{ icon: 'github', link: repository }],
    sidebar: [
      ...Object.entries(groups).map(([text, files]) => ({ text, items: files.map(f => ({ text: title(f), link: '/' + place(f) })) })),
      {
        text: 'snug explain',
        items: [{ text: 'All ids and words', link: '/explain/' }, ...writePages(root).map(t => ({ text: t.title, link: '/explain/' + t.id }))],
      },
    ],
  },
})
