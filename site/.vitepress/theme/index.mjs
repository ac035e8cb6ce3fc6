// The default theme with the fonts of the reader's system, and with room for what a terminal shows.
import theme from 'vitepress/theme-without-fonts'
import './style.css'

export default theme
