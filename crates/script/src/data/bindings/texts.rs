//! `template`, `file` and `uniqueId`.

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::prelude::Func;
use rquickjs::{Class, Ctx, Exception, FromJs, JsLifetime, Object, Result, TypedArray, Value};

use super::realm_data::RealmData;
use crate::data::files::FileBytes;
use crate::data::template::{Filling, Placeholder, TemplateError, TextTemplate};
use crate::exact_json;
use crate::unknown_options::check_options;

pub(super) fn install<'js>(ctx: &Ctx<'js>, data: &Object<'js>, scope: &Rc<RealmData>) -> Result<()> {
    Class::<FileHandle>::define(data)?;
    let realm = Rc::clone(scope);
    data.set("uniqueId", Func::from(move |prefix: Opt<Option<String>>| realm.ids.borrow_mut().next(prefix.0.flatten().as_deref())))?;
    let realm = Rc::clone(scope);
    data.set(
        "template",
        Func::from(move |ctx: Ctx<'js>, path: String, values: Opt<Option<Object<'js>>>| {
            let template = realm.known(&ctx, &realm.templates, &path, |path| realm.store.template(path))?;
            fill(&ctx, &template, values.0.flatten().as_ref())
        }),
    )?;
    data.set(
        "templateText",
        Func::from(|ctx: Ctx<'js>, text: String, values: Opt<Option<Object<'js>>>| {
            let template = TextTemplate::compile("template", &text).map_err(|error| Exception::throw_message(&ctx, &error.to_string()))?;
            fill(&ctx, &template, values.0.flatten().as_ref())
        }),
    )?;
    let realm = Rc::clone(scope);
    data.set(
        "file",
        Func::from(move |ctx: Ctx<'js>, path: String, options: Opt<Option<Object<'js>>>| {
            let content = realm.known(&ctx, &realm.files, &path, |path| realm.store.file(path))?;
            FileHandle::new(content, options.0.flatten().as_ref()).and_then(|file| Class::instance(ctx, file))
        }),
    )?;
    let _ = ctx;
    Ok(())
}

/// Why a template could not be filled.
enum FillError {
    TextTemplate(TemplateError),
    Thrown(rquickjs::Error),
}

impl From<TemplateError> for FillError {
    fn from(error: TemplateError) -> Self {
        FillError::TextTemplate(error)
    }
}

impl From<rquickjs::Error> for FillError {
    fn from(error: rquickjs::Error) -> Self {
        FillError::Thrown(error)
    }
}

fn fill<'js>(ctx: &Ctx<'js>, template: &TextTemplate, values: Option<&Object<'js>>) -> Result<String> {
    template.fill(|placeholder| filling(ctx, values, placeholder)).map_err(|error| match error {
        FillError::TextTemplate(error) => Exception::throw_message(ctx, &error.to_string()),
        FillError::Thrown(error) => error,
    })
}

fn filling<'js>(
    ctx: &Ctx<'js>,
    values: Option<&Object<'js>>,
    placeholder: &Placeholder,
) -> std::result::Result<Option<Filling>, FillError> {
    let Some(values) = values else { return Ok(None) };
    let mut value = values.clone().into_value();
    for name in &placeholder.path {
        let Some(object) = value.into_object() else { return Ok(None) };
        value = object.get::<_, Value<'js>>(&**name)?;
    }
    if value.is_undefined() {
        return Ok(None);
    }
    if let Some(text) = value.as_string() {
        return Ok(Some(Filling::Text(text.to_string()?)));
    }
    Ok(exact_json::stringify(ctx, value)?.map(Filling::Json))
}

/// A file in a script. The user object sends its bytes.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "FileContent")]
pub(crate) struct FileHandle {
    #[qjs(skip_trace)]
    content: Arc<FileBytes>,
    name: Option<String>,
    media_type: Option<String>,
}

impl FileHandle {
    fn new(content: Arc<FileBytes>, options: Option<&Object<'_>>) -> Result<Self> {
        options.map_or(Ok(()), |options| check_options(options, "file(…)", &["name", "type"]))?;
        let option = |key: &str| options.map_or(Ok(None), |options| options.get::<_, Option<String>>(key));
        Ok(Self { content, name: option("name")?, media_type: option("type")? })
    }

    /// The file behind a script's value, if it is one.
    pub(crate) fn of<'js>(value: &Value<'js>) -> Option<Class<'js, FileHandle>> {
        Class::from_js(value.ctx(), value.clone()).ok()
    }

    pub(crate) fn content(&self) -> &Arc<FileBytes> {
        &self.content
    }

    /// Name sent in uploads.
    pub(crate) fn file_name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.content.name())
    }

    pub(crate) fn content_type(&self) -> &str {
        self.media_type.as_deref().unwrap_or_else(|| self.content.media_type())
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl FileHandle {
    #[qjs(get, rename = "name")]
    fn js_name(&self) -> String {
        self.file_name().to_owned()
    }

    #[qjs(get, rename = "type")]
    fn js_type(&self) -> String {
        self.content_type().to_owned()
    }

    #[qjs(get)]
    fn size(&self) -> usize {
        self.content.bytes().len()
    }

    #[qjs(get)]
    fn text(&self) -> String {
        String::from_utf8_lossy(self.content.bytes()).into_owned()
    }

    #[qjs(get)]
    fn bytes<'js>(&self, ctx: Ctx<'js>) -> Result<TypedArray<'js, u8>> {
        TypedArray::new_copy(ctx, &**self.content.bytes())
    }
}
