import datetime as dt
import hashlib
import io
import json

from django.contrib.auth import authenticate, get_user_model, login
from django.core.management import call_command
from django.db.models import Avg, Count, Q
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods
from pyodide.ffi import JsException

from blog.models import Author, Comment, Post, Tag


def shown(post):
    return {
        "id": post.id,
        "author": post.author.name,
        "title": post.title,
        "rating": post.rating,
        "published": post.published,
        "created": post.created.isoformat(),
        "extra": post.extra,
        "tags": sorted(tag.word for tag in post.tags.all()),
    }


def migrate(request):
    said = io.StringIO()
    call_command("migrate", verbosity=1, no_color=True, stdout=said)
    return HttpResponse(said.getvalue(), content_type="text/plain")


def index(request):
    posts = Post.objects.filter(published=True).select_related("author")
    posts = sorted(posts, key=lambda post: post.id)
    return render(request, "blog/index.html", {"posts": posts})


@require_http_methods(["GET", "POST"])
def posts(request):
    if request.method == "GET":
        found = Post.objects.select_related("author").prefetch_related("tags")
        return JsonResponse(sorted(map(shown, found), key=lambda each: each["id"]), safe=False)
    sent = json.loads(request.body)
    author, _ = Author.objects.get_or_create(name=sent["author"])
    post = Post.objects.create(
        author=author,
        title=sent["title"],
        rating=sent.get("rating"),
        published=sent.get("published", False),
        created=dt.datetime(2026, 3, 1, 12, 30, tzinfo=dt.UTC),
        extra=sent.get("extra", {}),
    )
    post.tags.set(Tag.objects.get_or_create(word=word)[0] for word in sent.get("tags", []))
    post.refresh_from_db()
    return JsonResponse(shown(post), status=201)


@require_http_methods(["GET", "PUT", "DELETE"])
def post(request, number):
    found = get_object_or_404(Post, pk=number)
    if request.method == "DELETE":
        found.delete()
        return HttpResponse(status=204)
    if request.method == "PUT":
        for name, value in json.loads(request.body).items():
            setattr(found, name, value)
        found.save()
        found.refresh_from_db()
    return JsonResponse(shown(found))


def comment(request, number):
    comment = Comment.objects.create(post_id=number, text=request.POST["text"])
    return JsonResponse({"text": comment.text, "count": comment.post.comments.count()})


def authors(request):
    if request.method == "POST":
        try:
            Author.objects.create(name=request.POST["name"])
        except JsException:
            return JsonResponse({"refused": request.POST["name"]}, status=409)
    found = Author.objects.annotate(count=Count("posts"), mean=Avg("posts__rating")).values()
    return JsonResponse({each["name"]: [each["count"], each["mean"]] for each in found.iterator()})


def search(request):
    word = request.GET["word"]
    found = Post.objects.filter(Q(title__icontains=word) | Q(tags__word=word)).distinct()
    return JsonResponse(sorted(found.values_list("title", flat=True)), safe=False)


def upload(request):
    file = request.FILES["file"]
    digest = hashlib.sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    return JsonResponse(
        {"name": file.name, "size": file.size, "sha256": digest.hexdigest(), **request.POST.dict()}
    )


def download(request):
    pieces = (f"line {number}\n" for number in range(int(request.GET["lines"])))
    return StreamingHttpResponse(pieces, content_type="text/plain")


def visits(request):
    request.session["visits"] = request.session.get("visits", 0) + 1
    return JsonResponse({"visits": request.session["visits"]})


def log_in(request):
    name, password = request.POST["name"], request.POST["password"]
    users = get_user_model().objects
    if not users.filter(username=name).exists():
        users.create_user(name, password=password)
    user = authenticate(request, username=name, password=password)
    if user is None:
        return JsonResponse({"refused": name}, status=403)
    login(request, user)
    return JsonResponse({"welcome": name})


def me(request):
    return JsonResponse({"user": request.user.username or None})


def broken(request):
    raise ValueError("a view that fails")
